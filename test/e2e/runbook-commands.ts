import { blocksOf } from '../support/document-blocks.ts';

/** The runbooks' shell commands, each once. */
export const RUNBOOK_COMMANDS: readonly string[] = [
  ...new Set(
    blocksOf('docs/runbooks.md')
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text.trim()),
  ),
];
