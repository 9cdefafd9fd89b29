import { test } from 'vitest';
import { documentParts, wholeProgram } from '../../scripts/command-document.ts';
import { expectParts } from './generated-parts.ts';

test('makes the command-line reference from the program', async () => {
  await expectParts('docs/cli.md', documentParts(wholeProgram()));
});
