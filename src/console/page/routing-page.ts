import type { KeyRow, Place, RouteAnswer, RouteNode } from '../shapes.ts';
import { CompletingInput } from './completing-input.ts';
import { html, useEffect, useState, type View } from './htm-preact.js';
import { labelled } from './labelled.ts';
import { useLive } from './live-rows.ts';
import { useModelNames } from './model-names.ts';
import { nodePath } from './nodes-page.ts';
import { setQuery, useAddress } from './router.ts';
import { ask } from './server.ts';
import { Phase } from './status.ts';
import { pathsInWords } from './words.ts';

type Selected = { currentTarget: HTMLSelectElement };

const formats: readonly (readonly [string, string])[] = [
  ['chat', 'Chat completions'],
  ['responses', 'Responses'],
  ['messages', 'Messages'],
  ['completions', 'Completions'],
  ['embeddings', 'Embeddings'],
  ['rerank', 'Rerank'],
  ['moderations', 'Moderations'],
  ['images/generations', 'Images'],
  ['images/edits', 'Image edits'],
  ['audio/speech', 'Speech'],
  ['audio/transcriptions', 'Transcriptions'],
  ['audio/translations', 'Audio translations'],
];
/** The delay after typing, so that a name causes one request and not one for each letter. */
const settleMs = 150;

const setModel = (model: string): void => setQuery('model', model);

/** Where a request would go: the candidates in their order with their shares, and why other nodes get none. */
export function RoutingPage({ place }: { place: Place }): View {
  const { rows } = useLive();
  const { query } = useAddress();
  const models = useModelNames();
  const [answer, setAnswer] = useState<RouteAnswer | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const keys = [...rows.values()].filter((row): row is KeyRow => row.kind === 'APIKey');
  const model = query.get('model') ?? '';
  const format = query.get('format') ?? 'chat';
  const key = query.get('key') ?? '';
  // Any change of a node or key may change the routing.
  const state = [...rows.values()]
    .map(({ name, generation, ...row }) => `${name} ${generation} ${'phase' in row ? row.phase : ''}`)
    .join();

  useEffect(() => {
    if (model === '') {
      setAnswer(undefined);
      return undefined;
    }
    // An answer may take seconds, because circuits are read from the gateways: by then something else may be asked.
    let isCurrent = true;
    const timer = setTimeout(() => {
      const asked = new URLSearchParams({ model, format, key });
      ask<RouteAnswer>('GET', `/api/route?${asked}`).then(
        (said) => {
          if (!isCurrent) return;
          setAnswer(said);
          setProblem(undefined);
        },
        (error: unknown) => {
          if (isCurrent) setProblem(error instanceof Error ? error.message : String(error));
        },
      );
    }, settleMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [model, format, key, state]);

  const taking = answer?.nodes.filter(({ tier }) => tier !== undefined) ?? [];
  const out = answer?.nodes.filter(({ tier }) => tier === undefined) ?? [];
  const tiers = [...new Set(taking.map(({ tier }) => tier))];
  return html`<section>
    <h1>Routing</h1>
    <div class="filters">
      ${labelled(
        { id: 'route-model', label: 'Model' },
        (names) => html`<${CompletingInput} id="route-model" names=${names} value=${model} choices=${models}
          placeholder="Any name that callers use" onInput=${setModel} onPick=${setModel} />`,
      )}
      <label><span>Key</span>
        <select onChange=${(event: Selected) => setQuery('key', event.currentTarget.value)}>
          <option value="">Any key of ${place.namespace}</option>
          ${keys.map(({ namespace, name }) => html`<option value=${`${namespace}/${name}`} selected=${`${namespace}/${name}` === key}>${namespace}/${name}</option>`)}
        </select>
      </label>
      <label><span>Format</span>
        <select onChange=${(event: Selected) => setQuery('format', event.currentTarget.value)}>
          ${formats.map(([value, label]) => html`<option value=${value} selected=${value === format}>${label}</option>`)}
        </select>
      </label>
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${model === '' && html`<p class="muted">Name a model to see which nodes a request for it goes to, in which order, with which shares, and why every other node is out.</p>`}
    ${
      answer &&
      html`<div role="status">
        ${answer.refusal && html`<p class="problem">${answer.refusal}</p>`}
        ${tiers.map(
          (tier, index) => html`<article>
            <h2>${index === 0 ? 'First' : 'Then, when those before fail'}</h2>
            ${taking.filter((node) => node.tier === tier).map((node) => html`<${Taking} node=${node} asked=${answer.model} />`)}
          </article>`,
        )}
        ${
          out.length > 0 &&
          html`<article>
            <h2>Out</h2>
            <dl>${out.map(
              (node) => html`<div class="out">
                <dt><a href=${nodePath(node)}>${node.namespace}/${node.name}</a></dt>
                ${node.excluded.map(({ message, remedy }) => html`<dd>${pathsInWords(message)} <small class="muted">${pathsInWords(remedy)}</small></dd>`)}
              </div>`,
            )}</dl>
          </article>`
        }
        ${answer.notes.map((note) => html`<p class="muted">${note}</p>`)}
      </div>`
    }
  </section>`;
}

function Taking({ node, asked }: { node: RouteNode; asked: string }): View {
  const percent = Math.round((node.share ?? 0) * 1000) / 10;
  return html`<div class="taking">
    <span class="taking-name"><a href=${nodePath(node)}>${node.namespace}/${node.name}</a> <${Phase} phase=${node.phase} /></span>
    <meter class="share-meter" min="0" max="100" value=${percent} aria-label=${`Share of ${node.name}`}>${percent} %</meter>
    <span class="numeric">${percent} %</span>
    <small class="muted">
      priority ${node.priority}, weight ${node.weight}${node.conversion && html`, <span class="whole">${node.conversion}</span>`}${node.model !== undefined && node.model !== asked && `, asked for the model ${node.model}`}
    </small>
    ${node.remarks.map((remark) => html`<small>${remark}</small>`)}
  </div>`;
}
