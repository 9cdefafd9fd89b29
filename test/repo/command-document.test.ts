import { test } from 'vitest';
import { documentParts, wholeProgram } from '../../scripts/command-document.ts';
import { expectParts } from './generated-parts.ts';

test('the reference of the command line is made from the program', async () => {
  await expectParts('docs/cli.md', documentParts(wholeProgram()));
});
