import { mutationsOf } from './mutation.ts';

/**
 * What keeps daemons apart though one of them fences nothing itself. Each takes as long as a fault
 * test, which must turn red every time.
 */
export const mutations = mutationsOf`
src/adapters/bmdb/pg/tasks/claim.ts test/faults/unfenced.test.ts
  unfenced-claim-without-session-check:
    WITH me AS MATERIALIZED ([-\${liveSession(session)}-]{+SELECT * FROM sessions WHERE session_id = \${session} FOR KEY SHARE+})
src/actors/tasks/agent-start.ts test/faults/unfenced.test.ts
  attempt-noted-after-the-call:
    \_\_[-await work.note({\n    kind: 'agentStartAttempt',\n    ...(newHostKey !== null && { hostKey: newHostKey }),\n  });\n  -]const question = protocol.request(work.machineId, toldOf(given));\n  const { stdout, stderr } = await shellOf(given).execute([agent.targetPath], question, signal);{+\n  await work.note({\n    kind: 'agentStartAttempt',\n    ...(newHostKey !== null && { hostKey: newHostKey }),\n  });+}\n
src/adapters/bmdb/pg/tasks/notes.ts test/faults/unfenced.test.ts
  unfenced-guard-lock-removed: [-  if (needsPermit) await lockGuard(q);\n-]
`;
