"""Who is a member, agreed upon in an etcd that is there anyway: see docs/etcd.md."""
