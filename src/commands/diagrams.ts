import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { diagramDocuments } from '../diagrams/documents.ts';
import { UsageError } from '../domain/errors.ts';

/**
 * Writes every chart as Mermaid and JSON, or checks that what is there is fresh.
 * @throws {UsageError} `check`, and a file is missing or stale.
 */
export async function diagrams({ root, check }: { root: string; check: boolean }): Promise<string> {
  const documents = [...(await diagramDocuments(root))];
  const stale = documents.filter(([path, text]) => currentText(join(root, path)) !== text);
  if (check && stale.length > 0) {
    const names = stale.map(([path]) => path).join(', ');
    throw new UsageError(`stale: ${names}; run "npm run diagrams" and commit the result`);
  }
  for (const [path, text] of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return check
    ? `${documents.length} files are fresh`
    : `${stale.length} of ${documents.length} files written`;
}

function currentText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
