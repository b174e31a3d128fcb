// The language of .arrows files, for the editor.
import { StreamLanguage } from "../libraries.js";

const NAME = /^[\p{L}_:][\p{L}\p{N}_:.·-]*?(?=$|[^\p{L}\p{N}_:.·-]|-[>])/u;

export const arrowsLanguage = StreamLanguage.define({
  startState: () => ({ first: true }),
  token(stream, state) {
    if (stream.sol()) state.first = true;
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"[^"]*"?/)) return "string";
    if (stream.match(/^[-=]>/)) return "operator";
    if (stream.match(/^\[[^\]]*\]?/)) return "typeName";
    if (stream.match(/^@[^\s/|)]+/)) return "attributeName";
    if (state.first && stream.match(/^(?:source|target)(?=\s+(?:"|namespace\b|box\b|key\b|reference\b|join\b))/)) return "keyword";
    if (stream.match(/^(?:root|namespace|box|key|reference|join)(?=\s+[^-=/\s])/)) return "keyword";
    if (stream.match(/^Q\{[^}]*\}/)) return "comment";
    state.first = false;
    if (stream.match(NAME)) return "propertyName";
    stream.next();
    return null;
  },
});

/**
 * Completes paths by the schemas of both sides, and the names of boxes.
 * @param {() => {source: import("../schema.js").SchemaTree | null, target: import("../schema.js").SchemaTree | null}} trees
 */
export function pathCompletions(trees) {
  /** @param {any} context the editor's */
  return (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const path = /(?:Q\{[^}]*\}|[^\s|()])*$/.exec(before)?.[0] ?? "";
    if (!path && !context.explicit) return null;
    const declared = /^\s*(source|target)\s+(?:box|key|reference|join)\b/.exec(before)?.[1];
    const side = declared ?? (/[-=]>/.test(before) ? "target" : "source");
    const tree = side === "source" ? trees().source : trees().target;
    if (!tree) return null;
    const steps = (path.match(/(?:Q\{[^}]*\}|[^/])+(?=\/)/g) ?? []).map((step) => tree.read(step));
    const box = tree.boxes.find((one) => steps[0] === `[${one.name}]`);
    const above = box ? [...box.parent, ...steps] : steps;
    const node = tree.node(above);
    if (!node) return null;
    const options = tree.children(node).filter((child) => child.kind !== "member").map((child) => ({
      label: tree.writtenStep(child.label),
      detail: child.kind === "box" ? "box" : child.cardinality === "1" ? child.type : `${child.cardinality} ${child.type}`,
      info: child.documentation || undefined,
      type: child.expandable ? "class" : "property",
    }));
    const boxes = steps.length ? [] : tree.boxes.map((one) => ({ label: `[${one.name}]`, detail: "box", type: "class" }));
    const known = new Set(options.map((option) => option.label));
    return {
      from: context.pos - (/(?:Q\{[^}]*\}|[^/])*$/.exec(path)?.[0].length ?? 0),
      options: [...options, ...boxes.filter((option) => !known.has(option.label))],
      validFor: /^(?:Q\{[^}]*\}|[^\s/|()])*$/,
    };
  };
}
