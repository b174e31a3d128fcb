// A window over the page: the browser's own, so that the keyboard stays in it, and Escape closes it.
import { html, useLayoutEffect, useRef } from "./libraries.js";

/**
 * It is open as long as it is there. What had the focus before has it again afterwards.
 * @param {object} props
 * @param {any} props.title
 * @param {() => void} props.onClose
 * @param {string} [props.kind] a class
 * @param {any} [props.children]
 */
export function Dialog({ title, onClose, kind = "", children }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const before = document.activeElement;
    const found = place.current;
    found?.showModal();
    return () => {
      found?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  /** @param {Event} event */
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${place} class=${kind} aria-labelledby="dialog-title" onCancel=${cancel}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}
