import { spawn, type ChildProcess } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { agentInitCodec, takeoverInitCodec, takeoverResponseCodec } from '../wire/codec.ts';
import type { TakeoverInit } from '../wire/codec.ts';
import { parseEndpoint } from './callback-client.ts';
import { generateRawKeyPair, joinKeyPair } from './keys.ts';
import { lastWords, type Program } from './program.ts';
import { recordAgent, stopPredecessor } from './pid-file.ts';

/** Set for the copy of the program that is the agent. */
export const DETACHED_FLAG = 'TAKEOVER_DETACHED_LAUNCH';

/**
 * The short-lived part over SSH: reads `TakeoverInit` from standard input, generates the agent's
 * key, starts the agent and answers. The agent waits for its key until the answer is sent, so that
 * no agent runs with an unknown key. Any failure becomes the answer's error.
 */
export async function takeOver(program: Program): Promise<void> {
  let stage: Stage;
  try {
    stage = await prepare(program, await readAll(process.stdin));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await writeOut(takeoverResponseCodec.encode({ error: { message } }));
    return;
  }
  try {
    await writeOut(stage.response);
    await launch(stage);
  } catch (error) {
    stage.agent.kill('SIGKILL');
    throw error;
  }
}

interface Stage {
  readonly agent: ChildProcess;
  readonly agentInit: Uint8Array;
  readonly response: Uint8Array;
}

async function prepare(program: Program, input: Buffer): Promise<Stage> {
  const initMessage = takeoverInitCodec.decode(input);
  assertUsable(initMessage);
  const pair = generateRawKeyPair();
  await stopPredecessor(program.path);
  const said = lastWords(logOf(program));
  const warning = said === null ? [] : [`the previous agent wrote: ${said}`];
  const agent = await startDetached(program, warning);
  return {
    agent,
    agentInit: agentInitCodec.encode({ takeoverInit: initMessage, privateKey: joinKeyPair(pair) }),
    response: takeoverResponseCodec.encode({
      success: { initMessage, key: pair.publicKey, warning },
    }),
  };
}

function assertUsable({ machineId, bmaasEndpoint, caCertificate }: TakeoverInit): void {
  if (!machineId) throw new Error('TakeoverInit has no machine id');
  parseEndpoint(bmaasEndpoint ?? '');
  if (!caCertificate?.length) return;
  try {
    void new X509Certificate(caCertificate);
  } catch (error) {
    throw new Error('TakeoverInit has an unreadable CA certificate', { cause: error });
  }
}

const logOf = ({ path }: Program): string => `${path}.log`;

/** With its own session, no terminal, and a log file as standard error. */
async function startDetached(program: Program, warnings: string[]): Promise<ChildProcess> {
  const [file, ...args] = program.command;
  const log = openLog(logOf(program), warnings);
  try {
    const agent = spawn(file, args, {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', log ?? 'ignore'],
      env: { ...process.env, [DETACHED_FLAG]: '1' },
    });
    await once(agent, 'spawn');
    record(program.path, agent.pid!, warnings);
    return agent;
  } finally {
    if (log !== null) closeSync(log);
  }
}

function openLog(path: string, warnings: string[]): number | null {
  try {
    return openSync(path, 'w', 0o600);
  } catch (error) {
    warnings.push(`no log file: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function record(executable: string, pid: number, warnings: string[]): void {
  try {
    recordAgent(executable, pid);
  } catch (error) {
    warnings.push(`no pid file: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Gives the agent its key; from then on it runs independently. */
function launch({ agent, agentInit }: Stage): Promise<void> {
  agent.unref();
  return send(agent.stdin!, agentInit);
}

const writeOut = (bytes: Uint8Array): Promise<void> => send(process.stdout, bytes);

/** Writes the stream's only content. The callback of `end` would also report errors. */
function send(stream: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.on('error', reject);
    stream.on('finish', resolve);
    stream.end(bytes);
  });
}

/** Reads a stream to its end. */
export async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
