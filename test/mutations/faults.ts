import type { Mutation } from './mutation.ts';

/**
 * What keeps daemons apart though one of them fences nothing itself. Each takes as long as a fault
 * test, which must turn red every time.
 */
const tests = ['test/faults/unfenced.test.ts'];

export const mutations: readonly Mutation[] = [
  {
    id: 'unfenced-claim-without-session-check',
    file: 'src/adapters/bmdb/pg/tasks/claim.ts',
    find: 'WITH me AS MATERIALIZED (${liveSession(session)})',
    replace:
      'WITH me AS MATERIALIZED (SELECT * FROM sessions WHERE session_id = ${session} FOR KEY SHARE)',
    tests,
  },
  {
    id: 'attempt-noted-after-the-call',
    file: 'src/actors/tasks/agent-start.ts',
    find: `    await work.note({ kind: 'agentStartAttempt', ...proved });
    const { stdout, stderr } = await shell.execute(
      [targetPath],
      protocol.request(work.machineId, toldOf(given)),
      signal,
    );
`,
    replace: `    const { stdout, stderr } = await shell.execute(
      [targetPath],
      protocol.request(work.machineId, toldOf(given)),
      signal,
    );
    await work.note({ kind: 'agentStartAttempt', ...proved });
`,
    tests,
  },
  {
    id: 'unfenced-guard-lock-removed',
    file: 'src/adapters/bmdb/pg/tasks/notes.ts',
    find: '  if (needsPermit) await lockGuard(q);\n',
    replace: '',
    tests,
  },
];
