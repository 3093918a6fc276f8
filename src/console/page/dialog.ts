import { type Child, html, useEffect, useRef, type View } from './htm-preact.js';

/** A modal dialog of the browser: it keeps the focus, and Escape closes it. */
export function Dialog(props: {
  readonly title: string;
  readonly onClose: () => void;
  /** Only its own button closes it, because its content cannot be shown again. */
  readonly stays?: true;
  readonly children?: Child;
}): View {
  const { title, onClose, stays, children } = props;
  const element = useRef<HTMLDialogElement | null>(null);
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      // Elements outside of an open dialog take no focus.
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  // The browser's `close` event is a frame late: it would close a dialog that was opened again by then.
  const cancel = (event: Event): void => {
    event.preventDefault();
    if (!stays) onClose();
  };
  const closed = (event: { currentTarget: HTMLDialogElement }): void => {
    if (!event.currentTarget.isConnected) return;
    // A second Escape closes a dialog even if the page prevents it.
    if (stays) event.currentTarget.showModal();
    else onClose();
  };
  return html`<dialog ref=${element} onCancel=${cancel} onClose=${closed} aria-labelledby="dialog-title">
    <article>
      <header>
        ${!stays && html`<button aria-label="Close" rel="prev" onClick=${onClose}></button>`}
        <h2 id="dialog-title">${title}</h2>
      </header>
      ${children}
    </article>
  </dialog>`;
}
