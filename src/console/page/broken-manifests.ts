import type { ManifestProblems } from '../shapes.ts';
import { html, type View } from './htm-preact.js';

/** The problems of the manifests, shown on every page. The last valid version stays in force until they are fixed. */
export function BrokenManifests({ lines, count }: ManifestProblems): View {
  const more = count - lines.length;
  return html`<div class="problem" role="alert">
    <p>${count === 1 ? 'A manifest is not in force.' : `Manifests are not in force: ${count} problems.`} What was valid before stays in force, where there was such a version.</p>
    <ul>${lines.map((line) => html`<li><code>${line}</code></li>`)}</ul>
    ${more > 0 && html`<p>And ${more} more: run <code>model-gateway check</code> on the folder.</p>`}
  </div>`;
}
