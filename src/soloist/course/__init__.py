"""For those who learn and teach: the start of an algorithm of one's own, and exercises that are graded."""
