import type { LiveChanges, LiveState, PageKind, Row } from '../shapes.ts';
import { useEffect, useState } from './htm-preact.js';

type Problems = LiveState['problems'];

const rows = new Map<string, Row>();
const watchers = new Set<() => void>();
let problems: Problems = {};
let old: string | undefined;
let manifests: LiveState['manifests'] = { lines: [], count: 0 };
/** `paused`: this browser has reached its number of live pages. */
type Connection = 'connecting' | 'live' | 'broken' | 'paused';
let connection: Connection = 'connecting';

export const idOf = (of: {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}): string => `${of.kind} ${of.namespace}/${of.name}`;

/** Follows the server's events while the page is open. The browser reconnects automatically. */
export function followServer(): void {
  const events = new EventSource('/api/live');
  events.addEventListener('state', (event) => {
    const state = JSON.parse(event.data) as LiveState;
    rows.clear();
    for (const row of state.rows) rows.set(idOf(row), row);
    problems = state.problems;
    old = state.old;
    manifests = state.manifests;
    setConnection('live');
  });
  events.addEventListener('changes', (event) => {
    const changes = JSON.parse(event.data) as LiveChanges;
    for (const row of changes.set) rows.set(idOf(row), row);
    for (const gone of changes.removed) rows.delete(idOf(gone));
    problems = changes.problems;
    old = changes.old;
    manifests = changes.manifests;
    tell();
  });
  events.addEventListener('paused', () => {
    events.close();
    setConnection('paused');
    addEventListener('focus', followServer, { once: true });
  });
  events.addEventListener('error', () => {
    setConnection('broken');
    // A refused connection (signed out, another process on the port) is not tried again by the browser.
    if (events.readyState === EventSource.CLOSED) {
      setTimeout(() => {
        void fetch('/api/place').then(
          (answer) => (answer.status === 401 ? location.reload() : followServer()),
          followServer,
        );
      }, 2_000);
    }
  });
}

function setConnection(now: Connection): void {
  connection = now;
  tell();
}

function tell(): void {
  for (const watcher of watchers) watcher();
}

/** The part of the live state that a view shows. The view is rendered again after each change. */
export function useLive(): {
  readonly rows: ReadonlyMap<string, Row>;
  readonly connection: Connection;
  readonly problem: (kind: PageKind) => string | undefined;
  /** Why what is shown may be old, though the console itself answers. */
  readonly old: string | undefined;
  readonly manifests: LiveState['manifests'];
} {
  const [, redraw] = useState(0);
  useEffect(() => {
    // One rendering for all changes of a frame.
    let asked = false;
    const watcher = (): void => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        redraw((count) => count + 1);
      });
    };
    watchers.add(watcher);
    // Changes between the first rendering and now notified no listener.
    watcher();
    return () => void watchers.delete(watcher);
  }, []);
  return { rows, connection, problem: (kind) => problems[kind], old, manifests };
}
