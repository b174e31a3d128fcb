// Files that somebody chooses, as texts: XML and DTDs say their encoding themselves.
import { Refused } from "./api.js";

/** What a file is called beside a mapping, with which it travels. @param {string} given @param {string} otherwise */
export const fileName = (given, otherwise) => given.replace(/[^\w.-]/g, "-").replace(/^[.-]+/, "").slice(-60) || otherwise;

const DECLARED = /^<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)/;

/** @param {File} file @param {string} why */
const unread = (file, why) =>
  new Refused([{ code: "HX1003", message: `${file.name}: ${why}`, position: null, excerpt: null, hint: null, file: file.name }], 422);

/**
 * The text of a file, by its mark or declaration of an encoding, else UTF-8. Throws {@link Refused}.
 * @param {File} file
 * @returns {Promise<string>} without a declaration that would not be true of it any more
 */
export async function readText(file) {
  const bytes = await file.arrayBuffer();
  const begin = new TextDecoder("latin1").decode(bytes.slice(0, 200));
  const marked = begin.startsWith("\u00ff\u00fe") ? "utf-16le" : begin.startsWith("\u00fe\u00ff") ? "utf-16be" : null;
  const encoding = marked ?? DECLARED.exec(begin)?.[1] ?? "utf-8";
  let decoder;
  try {
    decoder = new TextDecoder(encoding, { fatal: true });
  } catch {
    throw unread(file, `the encoding ${encoding} is not known`);
  }
  try {
    return decoder.decode(bytes).replace(DECLARED, (declaration, name) => declaration.slice(0, -name.length) + "UTF-8");
  } catch {
    throw unread(file, `it is not in the encoding ${encoding}`);
  }
}
