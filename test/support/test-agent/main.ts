import { randomBytes } from 'node:crypto';
import { answerTakeover, isBehaviour } from './answer.ts';

/** Put in place when the program is bundled. */
declare const TEST_AGENT_BEHAVIOUR: string;

/** The test agent as a program; `--<behaviour>` on its command line outdoes the one built in. */
async function main(): Promise<void> {
  const wanted = process.argv[2]?.replace(/^--/, '') ?? TEST_AGENT_BEHAVIOUR;
  if (!isBehaviour(wanted)) throw new Error(`test agent: no such behaviour: ${wanted}`);
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  const answer = answerTakeover(Buffer.concat(chunks), wanted, randomBytes(32));
  process.stderr.write(answer.stderr);
  process.stdout.write(answer.stdout);
  process.exitCode = answer.exitCode;
  // Until it is killed.
  if (answer.hangs) setInterval(() => undefined, 60_000);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
