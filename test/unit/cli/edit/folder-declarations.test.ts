import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { folderDeclarations } from '../../../../src/cli/edit/folder-declarations.ts';
import { declarationsContract } from '../../../support/declarations-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'declarations-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const declarations = folderDeclarations({ manifests: folder });

describe('a folder', () => declarationsContract(() => ({ declarations, namespace: 'team-a' })));
