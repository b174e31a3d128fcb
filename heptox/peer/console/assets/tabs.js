// Tabs of a part of the page: arrow keys walk, and what they come to is shown.
import { html } from "./libraries.js";

/**
 * @param {object} props
 * @param {string} props.label what a screen reader calls them
 * @param {string} props.prefix of the ids of tabs and panels
 * @param {{name: string, told?: string, title?: string}[]} props.tabs `told` stands beside the name
 * @param {string} props.selected
 * @param {(name: string) => void} props.onSelect
 * @param {string} [props.kind] a class
 */
export function Tabs({ label, prefix, tabs, selected, onSelect, kind = "inner-tabs" }) {
  /** @param {KeyboardEvent} event */
  const walk = (event) => {
    const last = tabs.length - 1;
    const here = tabs.findIndex(({ name }) => name === selected);
    const next = { ArrowRight: here === last ? 0 : here + 1, ArrowLeft: here === 0 ? last : here - 1, Home: 0, End: last }[event.key];
    const found = next === undefined ? undefined : tabs[next];
    if (!found) return;
    onSelect(found.name);
    document.getElementById(`${prefix}-tab-${found.name}`)?.focus();
    event.preventDefault();
  };
  return html`<div role="tablist" aria-label=${label} class=${kind} onKeyDown=${walk}>
    ${tabs.map(({ name, told, title }) => html`
      <button role="tab" key=${name} id=${`${prefix}-tab-${name}`} aria-selected=${name === selected}
        aria-controls=${`${prefix}-panel-${name}`} tabindex=${name === selected ? 0 : -1}
        title=${title} onClick=${() => onSelect(name)}>${name}${told ? html` <span class="count">${told}</span>` : null}</button>`)}
  </div>`;
}
