/**
 * Generates `src/wire/messages.js` and its types from `proto/`. With `--check` it changes nothing
 * and exits 1 when the generated files are not what `proto/` says.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pbjs from 'protobufjs-cli/pbjs.js';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = ['cloud/agent/api/agent.proto', 'cloud/bmaas/server/api/callback.proto'];
const GENERATED = ['messages.js', 'messages.d.ts'] as const;
const OPTIONS = ['--no-service', '--no-delimited', '--no-typeurl', '--no-verify'];

function generate(outFile: string): Promise<void> {
  const target = ['--target', 'static-module', '--wrap', 'esm', '--root', 'shepherd', '--dts'];
  const args = [...target, ...OPTIONS, '--path', join(ROOT, 'proto'), '--out', outFile];
  return new Promise((resolve, reject) => {
    pbjs.main([...args, ...SOURCES], (error) => (error ? reject(error) : resolve()));
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

async function main(check: boolean): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'shepherd-proto-'));
  try {
    await generate(join(scratch, 'messages.js'));
    for (const name of GENERATED) {
      const path = join(ROOT, 'src/wire', name);
      const fresh = read(join(scratch, name));
      if (read(path) === fresh) continue;
      if (!check) writeFileSync(path, fresh);
      console.log(`src/wire/${name} ${check ? 'is stale: run `npm run proto`' : 'written'}`);
      if (check) process.exitCode = 1;
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

await main(process.argv.includes('--check'));
