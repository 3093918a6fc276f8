import type { Place } from '../shapes.ts';
import { BrokenManifests } from './broken-manifests.ts';
import { Proposals, setShowsYaml, showsYaml } from './changing.ts';
import { followReader } from './follow-reader.ts';
import { html, render, useEffect, useState, type View } from './htm-preact.js';
import { KeyPage } from './key-page.ts';
import { KeysPage } from './keys-page.ts';
import { followServer, useLive } from './live-rows.ts';
import { NewKeyPage } from './new-key-page.ts';
import { NewNodePage, NodePage } from './node-page.ts';
import { NodesPage } from './nodes-page.ts';
import { Notices } from './notices.ts';
import { followLinks, go, useAddress } from './router.ts';
import { RoutingPage } from './routing-page.ts';
import { Refusal, readPlace } from './server.ts';
import { applyTheme, nextTheme, theme } from './theme.ts';
import { TryPage } from './try-page.ts';

const pages: readonly (readonly [path: string, title: string, parts: readonly string[]])[] = [
  ['/nodes', 'Nodes', ['nodes']],
  ['/keys', 'Keys', ['keys', 'master-keys']],
  ['/routing', 'Routing', ['routing']],
  ['/try', 'Try it', ['try']],
];

const connectionWords = {
  connecting: 'connecting…',
  live: 'live',
  broken: 'connecting again…',
  paused: 'paused',
} as const;

function App({ place }: { place: Place }): View {
  const { parts } = useAddress();
  const { connection, old, manifests } = useLive();
  const state = connection === 'live' && old !== undefined ? 'broken' : connection;
  const [look, setLook] = useState(theme());
  const [reviews, setReviews] = useState(showsYaml());
  const [page = 'nodes'] = parts;
  const title = pages.find(([, , names]) => names.includes(page))?.[1] ?? 'Not found';
  useEffect(() => {
    document.title = `${[parts[2], title].filter(Boolean).join(' · ')} · Model Gateway`;
    return undefined;
  }, [parts.join('/')]);

  return html`
    <a class="skip" href="#content">Skip to the content</a>
    <header class="top">
      <nav aria-label="Pages">
        <ul><li><strong>Model Gateway</strong></li></ul>
        <ul>${pages.map(([path, name, names]) => html`<li><a href=${path} aria-current=${names.includes(page) ? 'page' : undefined}>${name}</a></li>`)}</ul>
      </nav>
      <div class="top-facts">
        <span class=${`connection ${state}`} role="status">${connectionWords[state]}</span>
        <small class="muted">${place.place}${place.readOnly && ' · read-only'}</small>
        <label class="inline small" title="Before a change is stored, show what it does to the YAML and ask">
          <input type="checkbox" checked=${reviews} onChange=${(event: {
            currentTarget: HTMLInputElement;
          }) => {
            setShowsYaml(event.currentTarget.checked);
            setReviews(event.currentTarget.checked);
          }} />
          <span>Review<span class="wide"> each change</span></span>
        </label>
        <button class="outline small" onClick=${() => setLook(nextTheme())}>Theme: ${look}</button>
      </div>
    </header>
    <main id="content" class="container-fluid" tabindex="-1">
      ${connection === 'broken' && html`<p class="problem" role="alert">The connection to the console was lost; what you see may be old. It is tried again by itself.</p>`}
      ${connection === 'paused' && html`<p class="problem" role="alert">What you see may be old: several pages of the console are open in this browser. It goes on when you return to this one.</p>`}
      ${connection === 'live' && old !== undefined && html`<p class="problem" role="alert">What you see may be old: ${old} It is tried again by itself.</p>`}
      ${manifests.count > 0 && html`<${BrokenManifests} ...${manifests} />`}
      <${Page} place=${place} parts=${parts} />
    </main>
    <${Proposals} />
    <${Notices} />
  `;
}

function Page({ place, parts }: { place: Place; parts: readonly string[] }): View {
  const [page = 'nodes', namespace, name, tab] = parts;
  const kind = page === 'keys' ? 'APIKey' : 'MasterKey';
  switch (page) {
    case 'nodes':
      if (namespace === 'new' && name === undefined) return html`<${NewNodePage} place=${place} />`;
      if (namespace === undefined || name === undefined) return html`<${NodesPage} place=${place} />`;
      return html`<${NodePage} key=${`${namespace}/${name}`} place=${place} namespace=${namespace} name=${name} models=${tab === 'models'} />`;
    case 'keys':
    case 'master-keys':
      if (namespace === 'new' && name === undefined)
        return html`<${NewKeyPage} key=${kind} place=${place} kind=${kind} />`;
      if (namespace === undefined || name === undefined)
        return html`<${KeysPage} key=${kind} place=${place} kind=${kind} />`;
      return html`<${KeyPage} key=${`${kind} ${namespace}/${name}`} place=${place} kind=${kind} namespace=${namespace} name=${name} />`;
    case 'routing':
      return html`<${RoutingPage} place=${place} />`;
    case 'try':
      return html`<${TryPage} place=${place} />`;
    default:
      return html`<section><h1>Not found</h1><p>There is no page at this address. <a href="/nodes">Nodes</a></p></section>`;
  }
}

/** `/` searches, as in many consoles; Escape is the browser's. */
function followKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest('input, textarea, select, dialog') !== null)
      return;
    const search = document.querySelector<HTMLInputElement>('input[type=search]');
    if (search === null) return;
    event.preventDefault();
    search.focus();
  });
}

const root = document.querySelector('#app');
if (root !== null) {
  applyTheme();
  followLinks();
  followKeys();
  followReader();
  if (location.pathname === '/') go('/nodes');
  readPlace().then(
    (place) => {
      followServer();
      render(html`<${App} place=${place} />`, root);
    },
    (error: unknown) => {
      const text = error instanceof Refusal ? error.message : String(error);
      render(html`<main class="container"><h1>Model Gateway</h1><p class="problem">${text}</p></main>`, root);
    },
  );
}
