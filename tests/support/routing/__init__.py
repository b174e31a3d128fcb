"""What decisions of routing are tested with: random paths and schemas, and judges that share nothing with them."""
