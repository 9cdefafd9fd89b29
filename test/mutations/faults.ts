import { mutationsOf } from './mutation.ts';

/**
 * What keeps daemons apart though one of them fences nothing itself. Each takes as long as a fault
 * test, which must turn red every time.
 */
export const mutations = mutationsOf({
  'src/adapters/bmdb/pg/tasks/claim.ts test/faults/unfenced.test.ts': {
    'unfenced-claim-without-session-check':
      'WITH me AS MATERIALIZED ([-${liveSession(session)}-]{+SELECT * FROM sessions WHERE session_id = ${session} FOR KEY SHARE+})',
  },
  'src/actors/tasks/agent-start.ts test/faults/unfenced.test.ts': {
    'attempt-noted-after-the-call': `  [-await work.note({
    kind: 'agentStartAttempt',
    ...(newHostKey !== null && { hostKey: newHostKey }),
  });
  -]const question = protocol.request(work.machineId, toldOf(given));
  const { stdout, stderr } = await shellOf(given).execute([agent.targetPath], question, signal);{+
  await work.note({
    kind: 'agentStartAttempt',
    ...(newHostKey !== null && { hostKey: newHostKey }),
  });+}
`,
  },
  'src/adapters/bmdb/pg/tasks/notes.ts test/faults/unfenced.test.ts': {
    'unfenced-guard-lock-removed': '[-  if (needsPermit) await lockGuard(q);\n-]',
  },
});
