/** Builds the agent into the file that is named, by default `dist/agent/shepherd-agent`. */
import { join } from 'node:path';
import { buildAgent } from '../src/agent-bundle.ts';

const outFile = process.argv[2] ?? join(import.meta.dirname, '../dist/agent/shepherd-agent');
const { content, sha256 } = await buildAgent({ outFile });
console.log(`${outFile}: ${content.length} bytes, sha256 ${sha256}`);
