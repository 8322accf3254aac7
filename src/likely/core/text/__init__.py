"""Text at the edge of a model: boundaries, BOS, offsets, words, answers, chats and windows."""
