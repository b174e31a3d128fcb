// Bundles libraries.mjs, and gathers the licences of what is in it: node build.mjs [FOLDER]
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const folder = process.argv[2] ?? join(here, "../../heptox/peer/console/assets");

const built = await build({
  entryPoints: [join(here, "libraries.mjs")],
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  outfile: join(folder, "libraries.js"),
});

const packages = new Set();
for (const file of Object.keys(built.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const root = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return `${name} ${version} (${license})\n\n${readFileSync(join(root, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(folder, "libraries.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
