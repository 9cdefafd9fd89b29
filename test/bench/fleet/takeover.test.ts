import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { createTakeoverProtocol } from '../../../src/adapters/agents/takeover-protocol.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { feed } from '../../support/feed.ts';
import { takeoverAgent } from './takeover-agent.ts';

const temp = mkdtempSync(path.join(tmpdir(), 'takeover-test-'));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

test.each([0, 100, 500, 20_000])(
  'the agent of the takeovers answers as one does, with an authority of %i bytes',
  async (sizeBytes) => {
    const program = path.join(temp, 'agent');
    const content = takeoverAgent(100_000);
    expect(content).toHaveLength(100_000);
    writeFileSync(program, content, { mode: 0o755 });
    const caCertificate = new Uint8Array(sizeBytes).fill(7);
    const protocol = createTakeoverProtocol({ endpoint: '127.0.0.1:9', caCertificate });
    const id = machineId('00000000-0000-4000-8000-000000000001');
    const answering = promisify(execFile)(program, { encoding: 'buffer' });
    feed(answering.child, protocol.request(id, { throwAway: false }));
    const { stdout } = await answering;
    const { publicKey } = protocol.answer(id, stdout, { throwAway: false });
    expect(publicKey).toHaveLength(32);
    rmSync(program);
  },
);
