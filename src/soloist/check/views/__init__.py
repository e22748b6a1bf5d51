"""Views, explored: every order of events of small settings, over the state machines of `soloist.views`."""
