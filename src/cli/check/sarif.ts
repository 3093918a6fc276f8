import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Finding } from './finding.ts';
import { rules } from './rules.ts';

/** Most results that code scanning accepts from one run; it refuses a file with more. */
const mostResults = 25_000;

/**
 * Findings as SARIF 2.1.0, as code scanning reads it: every rule once, places with lines and columns from 1, addresses
 * relative to the root of the checkout, and a fingerprint that does not change when lines above are added.
 */
export function sarif(findings: readonly Finding[], version: string): object {
  const ids = Object.keys(rules) as (keyof typeof rules)[];
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'model-gateway check',
            semanticVersion: version,
            rules: ids.map((id) => ({
              id,
              name: id.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
              shortDescription: { text: rules[id].summary },
              fullDescription: { text: rules[id].summary },
              help: { text: rules[id].help },
              defaultConfiguration: { level: rules[id].level },
              properties: {
                tags: id === 'key-text' || id === 'secret-in-clear' ? ['security'] : ['manifest'],
              },
            })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.slice(0, mostResults).map((finding) => ({
          ruleId: finding.rule,
          ruleIndex: ids.indexOf(finding.rule),
          level: finding.level,
          message: { text: sentence(finding) },
          locations: [
            {
              physicalLocation: {
                artifactLocation: addressOf(finding.file),
                region: { startLine: finding.line, startColumn: finding.column },
              },
              ...(finding.object === undefined
                ? {}
                : {
                    logicalLocations: [
                      {
                        fullyQualifiedName: [finding.object, finding.field].join(' ').trim(),
                        kind: 'resource',
                      },
                    ],
                  }),
            },
          ],
          partialFingerprints: { 'modelGateway/v1': fingerprint(finding) },
        })),
      },
    ],
  };
}

/** `spec.priority: 101 must be at most 100; lower it`. */
export function sentence({ field, message, remedy }: Finding): string {
  return `${field === '' ? '' : `${field}: `}${message}; ${remedy}`;
}

/** An address relative to the root of the checkout, where the command runs; the absolute address of a file elsewhere. */
function addressOf(file: string): { readonly uri: string; readonly uriBaseId?: string } {
  if (isAbsolute(file)) return { uri: pathToFileURL(file).href };
  return { uri: file.split('/').map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' };
}

function fingerprint({ rule, file, object = '', field, message, line }: Finding): string {
  // Without an object, only the line distinguishes two findings.
  const where = object === '' ? String(line) : '';
  return createHash('sha256')
    .update([rule, file, object, field, message, where].join('\n'))
    .digest('hex')
    .slice(0, 32);
}
