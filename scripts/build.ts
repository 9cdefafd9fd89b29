/**
 * Builds `dist/`, the published files: the sources as JavaScript, the files that they read at run
 * time, and the agent as one executable file.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildAgent } from '../src/agent-bundle.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

/** Copies everything but TypeScript, for which the compiler writes JavaScript. */
function copyAssets(): number {
  const files = globSync('{src,emulators}/**/*.*', { cwd: root }).filter(
    (file) => !/(?<!\.d)\.ts$/.test(file),
  );
  for (const file of files) cpSync(join(root, file), join(dist, file));
  return files.length;
}

rmSync(dist, { recursive: true, force: true });
const compiler = join(root, 'node_modules', '.bin', 'tsc');
execFileSync(compiler, ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
const assets = copyAssets();
const agent = await buildAgent({ outFile: join(dist, 'src', 'agent', 'shepherd-agent') });
console.log(`dist: ${assets} assets, agent of ${agent.content.length} bytes (${agent.sha256})`);
