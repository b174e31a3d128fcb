// Names of XML 1.0 without a prefix, as the query language has them too.

const FIRST = "A-Z_a-z\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C-\\u200D\\u2070-\\u218F"
  + "\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}";

/** What a name is, as part of a regular expression that counts characters (`u`). */
export const NAME = `[${FIRST}][${FIRST}.0-9\\u00B7\\u0300-\\u036F\\u203F-\\u2040-]*`;
