import { useEffect, useState } from './htm-preact.js';

/** Goes to an address of the page, as a click on a link does. */
export function go(path: string): void {
  if (path === location.pathname + location.search) return;
  history.pushState(null, '', path);
  dispatchEvent(new PopStateEvent('popstate'));
}

/** Links inside the page change the address without a reload. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.origin !== location.origin) return;
    if (link.hasAttribute('download')) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}

/** The address as it is now: its parts, decoded, and its query. */
export function useAddress(): { readonly parts: readonly string[]; readonly query: URLSearchParams } {
  const [, redraw] = useState(0);
  useEffect(() => {
    const moved = (): void => redraw((count) => count + 1);
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, []);
  return {
    parts: location.pathname.split('/').filter(Boolean).map(decoded),
    query: new URLSearchParams(location.search),
  };
}

/** Writes a filter into the address, so that the view can be linked to; removes an empty one. */
export function setQuery(name: string, value: string): void {
  const query = new URLSearchParams(location.search);
  if (value === '') query.delete(name);
  else query.set(name, value);
  const text = query.toString();
  history.replaceState(null, '', location.pathname + (text === '' ? '' : `?${text}`));
  dispatchEvent(new PopStateEvent('popstate'));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
