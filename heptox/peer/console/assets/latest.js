// What is answered late must not replace what was chosen since.

/**
 * Tell apart what was begun last.
 * @returns {() => () => boolean} to be called when something is begun; what that returns tells whether it still is the newest
 */
export function latest() {
  let begun = 0;
  return () => {
    begun += 1;
    const own = begun;
    return () => own === begun;
  };
}
