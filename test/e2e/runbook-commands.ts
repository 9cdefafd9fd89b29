import { blocksOf } from '../support/document-blocks.ts';

/** The shell commands of the runbooks, each once. */
export const RUNBOOK_COMMANDS: readonly string[] = [
  ...new Set(
    blocksOf('docs/runbooks.md')
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text.trim()),
  ),
];
