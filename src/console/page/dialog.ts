import { type Child, html, useEffect, useRef, type View } from './htm-preact.js';

/** A modal dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog(props: {
  readonly title: string;
  readonly onClose: () => void;
  /** Closed by a button of its own alone: what it shows is lost with it. */
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
      // What is outside of an open dialog takes no focus.
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  // The browser says that it has closed a frame later: a dialog that is opened again by then would be closed instead.
  const cancel = (event: Event): void => {
    event.preventDefault();
    if (!stays) onClose();
  };
  const closed = (event: { currentTarget: HTMLDialogElement }): void => {
    if (!event.currentTarget.isConnected) return;
    // At a second Escape browsers close a dialog whatever the page says.
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
