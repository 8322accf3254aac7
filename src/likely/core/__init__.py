"""What a score is: the model protocol, requests, prefix trie, engine, cache and estimates."""
