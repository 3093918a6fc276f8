import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Helm } from './helm.ts';

/** The chart's folder. */
export const chartFolder = fileURLToPath(new URL('../../charts/model-gateway', import.meta.url));

/** An object as the chart renders it. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: unknown;
}

export interface RenderOptions {
  readonly release?: string;
  readonly namespace?: string;
  readonly values?: object;
  /** Kinds that the cluster is said to have, such as `modelgateway.dev/v1alpha1/APIKey`. */
  readonly apiVersions?: readonly string[];
}

/** What `helm template` prints, or its error. */
export async function renderText(
  helm: Helm,
  options: RenderOptions = {},
): Promise<{ text: string; error: string | undefined }> {
  const { release = 'mg', namespace = 'models', values = {}, apiVersions = [] } = options;
  const { code, stdout, stderr } = await helm.run(
    [
      ...['template', release, chartFolder, '--namespace', namespace, '--values', '-'],
      ...apiVersions.flatMap((each) => ['--api-versions', each]),
    ],
    JSON.stringify(values),
  );
  return { text: stdout, error: code === 0 ? undefined : stderr };
}

const renderedSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});

/** The objects that the chart renders. @throws with Helm's message when it refuses. */
export async function render(helm: Helm, options: RenderOptions = {}): Promise<Rendered[]> {
  const { text, error } = await renderText(helm, options);
  if (error !== undefined) throw new Error(error);
  return objectsIn(text);
}

/** The objects of a text of YAML documents. @throws where one is none. */
export function objectsIn(text: string): Rendered[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    const value: unknown = document.toJS();
    return value === null ? [] : [renderedSchema.parse(value) as unknown as Rendered];
  });
}
