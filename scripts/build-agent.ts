/**
 * Builds the agent below `dist/agent`: `shepherd-agent`, a script for machines with Node, and
 * `shepherd-agent-<platform>-<arch>`, one executable without dependencies, which `xz` compresses
 * (`--no-xz`: not). `--script` or `--sea` builds one of both; `--arch x64` or `--arch arm64` builds
 * for that processor; `--out <directory>` builds elsewhere.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildAgent } from '../src/agent-bundle.ts';
import {
  ARCHITECTURES,
  buildAgentExecutable,
  compressExecutable,
  platformOf,
} from './agent-executable.ts';

const { values } = parseArgs({
  options: {
    script: { type: 'boolean', default: false },
    sea: { type: 'boolean', default: false },
    xz: { type: 'boolean', default: true },
    arch: { type: 'string', default: process.arch },
    out: { type: 'string', default: join(import.meta.dirname, '../dist/agent') },
  },
  allowNegative: true,
});
const both = values.script === values.sea;
const outFile = join(values.out, 'shepherd-agent');

const tell = (path: string, content: Buffer) => {
  const sha256 = createHash('sha256').update(content).digest('hex');
  console.log(`${path}: ${content.length} bytes, sha256 ${sha256}`);
};

const { content } = await buildAgent(both || values.script ? { outFile } : {});
if (both || values.script) tell(outFile, content);
if (both || values.sea) {
  const { arch } = values;
  if (!ARCHITECTURES.includes(arch)) throw new Error(`--arch: one of ${ARCHITECTURES.join(', ')}`);
  const executable = `${outFile}-${platformOf(arch)}`;
  buildAgentExecutable({ script: content, outFile: executable, arch });
  tell(executable, readFileSync(executable));
  if (values.xz) {
    compressExecutable(executable);
    tell(`${executable}.xz`, readFileSync(`${executable}.xz`));
  }
}
