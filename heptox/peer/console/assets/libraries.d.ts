// The types of libraries.js, which is made of that module: for editors and checks, not for browsers.
export * from "../../../../tools/libraries/libraries.mjs";
export type { ReadonlySignal, Signal } from "@preact/signals";
