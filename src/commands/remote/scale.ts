import { UsageError } from '../../domain/errors.ts';
import { columnLines, paragraph } from '../layout.ts';
import type { Preview, Scale } from './answers.ts';
import type { AskFlags } from './ask-flags.ts';
import type { CommandOutput, Session } from './session.ts';
import { submit } from './submit.ts';

export interface ScaleFlags extends AskFlags {
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Load balancers need time to drain the machines; the command does not wait for them. */
const WAIT_MS = 30_000;

/**
 * `shepherd fleet scale`: gives back the least useful machines of a provider, until the given
 * number stays. @throws {UsageError} that number cannot stay.
 */
export async function scaleProvider(
  session: Session,
  flags: ScaleFlags,
  provider: string,
  machines: number,
): Promise<CommandOutput> {
  const path = `/providers/${encodeURIComponent(provider)}/scale`;
  const plan = await session.client.get<Scale>(path, { machines });
  if (plan.refusal !== null) throw new UsageError(`${provider}: ${plan.refusal}`);
  const slots = plan.slots.map(({ slot }) => slot);
  const text = `${provider} has ${plan.count} machines`;
  if (slots.length === 0)
    return { document: plan, names: slots, text: () => `${text}; none leaves` };
  const body = { verb: 'deprovision', slots, expectCount: slots.length };
  if (flags.yes && !flags.dryRun) return submit(session, body, { ...flags, waitMs: WAIT_MS });
  const { lost } = await session.client.send<Preview>('POST', '/requests', {
    body: { ...body, reason: flags.reason },
    query: { dryRun: 'true' },
    headers: { 'idempotency-key': session.uuid() },
  });
  return {
    ...{ document: plan, names: slots },
    text: (width) =>
      [
        paragraph(`${text}; ${machines} stay, and these would be given back:`, width),
        ...columnLines(
          plan.slots.map(({ slot, state, substate, why }) => [
            `    ${slot}`,
            `${state} · ${substate}`,
            why,
          ]),
        ),
        ...(lost === null ? [] : [paragraph(lost, width)]),
        'nothing was done; confirm with --yes',
      ].join('\n'),
  };
}
