import { takeoverInitCodec, takeoverResponseCodec } from '../../../src/wire/codec.ts';

/** What a takeover does, right or in one way wrong. */
export const BEHAVIOURS = [
  'success',
  'error-result',
  'no-result',
  'wrong-echo',
  'short-key',
  'garbage',
  'hang',
  'stderr-noise',
  'exit-1',
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

export const isBehaviour = (text: string): text is Behaviour =>
  (BEHAVIOURS as readonly string[]).includes(text);

/** All that the test agent says and how it ends; one that hangs says nothing and does not end. */
export interface TestAnswer {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
  readonly hangs: boolean;
}

const SILENT: TestAnswer = {
  stdout: new Uint8Array(),
  stderr: new Uint8Array(),
  exitCode: 0,
  hangs: false,
};
const failed = (message: string): TestAnswer => ({
  ...SILENT,
  stderr: Buffer.from(`${message}\n`),
  exitCode: 1,
});

/** Answers a takeover in place of a real agent, which then never reports. Never throws. */
export function answerTakeover(
  stdin: Uint8Array,
  behaviour: Behaviour,
  key: Uint8Array,
): TestAnswer {
  if (behaviour === 'hang') return { ...SILENT, hangs: true };
  if (behaviour === 'exit-1') return failed('test agent: told to fail');
  if (behaviour === 'garbage') return { ...SILENT, stdout: Buffer.from('not a message \xff') };
  if (behaviour === 'no-result') return SILENT;
  if (behaviour === 'error-result') {
    const message = 'test agent: told to refuse';
    return { ...SILENT, stdout: takeoverResponseCodec.encode({ error: { message } }) };
  }
  try {
    return succeed(stdin, behaviour, key);
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

function succeed(stdin: Uint8Array, behaviour: Behaviour, key: Uint8Array): TestAnswer {
  const read = takeoverInitCodec.decode(stdin);
  if (!read.machineId) throw new Error('test agent: no TakeoverInit');
  const success = {
    initMessage: behaviour === 'wrong-echo' ? { ...read, bmaasEndpoint: 'elsewhere:1' } : read,
    key: behaviour === 'short-key' ? key.subarray(1) : key,
    warning: behaviour === 'stderr-noise' ? ['test agent: was told to be noisy'] : [],
  };
  const noise = behaviour === 'stderr-noise' ? 'test agent: noise\n'.repeat(1_000) : '';
  return {
    ...SILENT,
    stdout: takeoverResponseCodec.encode({ success }),
    stderr: Buffer.from(noise),
  };
}
