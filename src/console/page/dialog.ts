import { type Child, html, useEffect, useRef, type View } from './htm-preact.js';

/** A modal dialog of the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog(props: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children?: Child;
}): View {
  const { title, onClose, children } = props;
  const element = useRef<HTMLDialogElement | null>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return html`<dialog ref=${element} onClose=${onClose} aria-labelledby="dialog-title">
    <article>
      <header>
        <button aria-label="Close" rel="prev" onClick=${onClose}></button>
        <h2 id="dialog-title">${title}</h2>
      </header>
      ${children}
    </article>
  </dialog>`;
}
