import { join } from 'node:path';
import { build } from 'esbuild';
import type { Behaviour } from './answer.ts';

/**
 * The test agent as one executable script, to be uploaded in place of the real agent. It is run by
 * the Node that runs the tests, so a machine needs none on its path.
 */
export async function buildTestAgent(behaviour: Behaviour = 'success'): Promise<Buffer> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'main.ts')],
    bundle: true,
    minify: true,
    write: false,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    define: { TEST_AGENT_BEHAVIOUR: JSON.stringify(behaviour) },
    logLevel: 'silent',
  });
  const head = `#!${process.execPath}\n`;
  return Buffer.concat([Buffer.from(head), outputFiles[0]!.contents]);
}
