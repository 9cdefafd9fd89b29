import { describe, expect, test } from 'vitest';
import { createTakeoverProtocol } from '../../../src/adapters/agents/takeover-protocol.ts';
import { Malformed, RemoteFailure } from '../../../src/domain/errors.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { takeoverResponseCodec } from '../../../src/wire/codec.ts';

const MACHINE = machineId('7a1e0f1c-0b9b-4f6e-9a3e-1d2c3b4a5f60');
const protocol = () =>
  createTakeoverProtocol({ endpoint: '192.0.2.1:8080', caCertificate: new Uint8Array() });
const said = (stdout: string | Uint8Array): string => {
  try {
    protocol().answer(MACHINE, typeof stdout === 'string' ? Buffer.from(stdout) : stdout);
  } catch (error) {
    expect(error).toBeInstanceOf(Malformed);
    return (error as Error).message;
  }
  throw new Error('it was taken for an answer');
};

describe('C5: output that no agent wrote', () => {
  test('C5: is shown with its usual cause', () => {
    const text = said('Welcome to srv-1\nLast login: Monday\n');
    expect(text).toContain('received: "Welcome to srv-1 Last login: Monday"');
    expect(text).toContain('.bashrc');
  });

  test('C5: controls no terminal and is short', () => {
    const text = said(`\u001b[2J\u202eevil ${'x'.repeat(10_000)}`);
    expect(text).not.toContain('\u001b');
    expect(text).not.toContain('\u202e');
    expect(text).toContain('\\u{1b}');
    expect(text.length).toBeLessThan(800);
  });

  test('C5: is called empty when it is empty', () => {
    expect(said('')).toContain('received: nothing');
    expect(said('')).not.toContain('.bashrc');
  });
});

test('reports a refusing agent as failed, in the agent’s own words', () => {
  const refusal = takeoverResponseCodec.encode({ error: { message: 'no kernel' } });
  const answer = () => protocol().answer(MACHINE, refusal);
  expect(answer).toThrow(RemoteFailure);
  expect(answer).toThrow(/no kernel/);
});
