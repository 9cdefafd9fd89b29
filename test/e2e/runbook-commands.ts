import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf, ROOT } from '../support/document-blocks.ts';

/** What runbooks have somebody run at three in the morning, each once. */
export const RUNBOOK_COMMANDS: readonly string[] = [
  ...new Set(
    readdirSync(join(ROOT, 'docs/runbooks')).flatMap((name) =>
      blocksOf(`docs/runbooks/${name}`)
        .filter(({ language }) => language === 'sh')
        .map(({ text }) => text.trim()),
    ),
  ),
];
