import { parse } from 'yaml';
import { z } from 'zod';

const head = /^metadata:\n {2}name: [a-z.]+\n/m;

/**
 * The template of a CRD: the text of the file in crds/, installed while `crds.enabled` says so and kept at uninstall
 * while `crds.keep` does. Throws if the text would be read as a template, or does not begin as our CRDs do.
 */
export function crdTemplate(crd: string): string {
  if (crd.includes('{{'))
    throw new Error('A CRD holds "{{", which Helm would take for a template: escape it');
  const place = head.exec(crd)?.[0];
  if (place === undefined) throw new Error('A CRD without metadata.name as its only metadata');
  const { metadata } = z.object({ metadata: z.strictObject({ name: z.string() }) }).parse(parse(crd));
  if (!place.includes(metadata.name)) throw new Error(`The CRD ${metadata.name} names another first`);
  return [
    '{{- if .Values.crds.enabled }}\n',
    crd.replace(place, `${place}${metadataTemplate}`),
    '{{- end }}\n',
  ].join('');
}

const metadataTemplate = `  {{- $annotations := dict }}
  {{- if .Values.crds.keep }}
  {{- $annotations = dict "helm.sh/resource-policy" "keep" }}
  {{- end }}
  {{- include "model-gateway.metadata" (dict "root" . "annotations" $annotations) | nindent 2 }}
`;
