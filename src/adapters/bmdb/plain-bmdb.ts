import { CLEARABLE, type Clearable } from '../../domain/provisioning/update.ts';
import { plainText, plainTextOr } from '../../lib/texts.ts';
import type {
  BalancingBook,
  Bmdb,
  BmdbSession,
  EventBook,
  FailureEffects,
  FinishChange,
  IntentBook,
  ListingBook,
  NewRequest,
  ProvidedPatch,
  ProviderHoldBook,
  RequestBook,
  WebhookDesk,
  Work,
  WorkNote,
} from './port.ts';

/**
 * The same BMDB; every free text that goes into it is made plain and capped. What machines and
 * providers answer ends up in causes and reasons, and a text that cannot be stored must never keep
 * a failure from being recorded: its machine would be tried again at once, for ever.
 */
export const plainBmdb = <Plain extends Bmdb>(bmdb: Plain): Plain => ({
  ...bmdb,
  providerHolds: plainHolds(bmdb.providerHolds),
  listings: plainListings(bmdb.listings),
  requests: plainRequests(bmdb.requests),
  events: plainEvents(bmdb.events),
  openSession: async ({ runtimeInfo, ...options }) =>
    plainSession(await bmdb.openSession({ ...options, runtimeInfo: plainText(runtimeInfo) })),
});

/** Keys too: they may be made of a plan's name. What is lifted is named as it was imposed. */
const plainHolds = (holds: ProviderHoldBook): ProviderHoldBook => ({
  impose: (hold) =>
    holds.impose({ ...hold, key: plainText(hold.key), cause: plainText(hold.cause) }),
  lift: (provider, kind, key, seenUntilMs) =>
    holds.lift(provider, kind, key === undefined ? key : plainText(key), seenUntilMs),
});

const plainListings = (listings: ListingBook): ListingBook => ({
  ...listings,
  failed: (found) => listings.failed({ ...found, cause: plainText(found.cause) }),
});

const plainEvents = (events: EventBook): EventBook => ({
  ...events,
  append: (event) =>
    events.append({ ...event, actor: plainText(event.actor), reason: plainText(event.reason) }),
});

/** Names and keys are refused where they are not plain: another one would be meant. */
const plainRequests = (requests: RequestBook): RequestBook => ({
  ...requests,
  file: (request) => requests.file(plainRequest(request)),
  fileBatch: (batch) =>
    requests.fileBatch({ ...batch, requests: batch.requests.map(plainRequest) }),
});

const plainRequest = (request: NewRequest): NewRequest => ({
  ...request,
  by: plainText(request.by),
  reason: plainText(request.reason),
});

const plainWebhooks = (desk: WebhookDesk): WebhookDesk => ({
  ...desk,
  record: (lease, webhook, results) =>
    desk.record(lease, webhook, {
      ...results,
      failed: results.failed.map((each) => ({ ...each, cause: plainText(each.cause) })),
    }),
});

const plainSession = (session: BmdbSession): BmdbSession => ({
  ...session,
  claim: async (process, machineId) => plainWork(await session.claim(process, machineId)),
  intents: plainIntents(session.intents),
  balancing: plainBalancing(session.balancing),
  webhooks: plainWebhooks(session.webhooks),
  updateProvided: (machineId, patch) =>
    session.updateProvided(machineId, { ...patch, ...plainTold(patch) }),
});

/** What balancers answer ends up in notes and reasons. */
const plainBalancing = (book: BalancingBook): BalancingBook => ({
  ...book,
  write: (lease, pool, changes) =>
    book.write(
      lease,
      pool,
      changes.map((change) =>
        change.note === undefined ? change : { ...change, note: plainTextOr(change.note) },
      ),
    ),
  note: (lease, pool, { frozen, ...patch }) =>
    book.note(lease, pool, {
      ...patch,
      ...(patch.reason === undefined ? {} : { reason: plainTextOr(patch.reason) }),
      ...(frozen === undefined
        ? {}
        : { frozen: frozen && { ...frozen, reason: plainText(frozen.reason) } }),
    }),
});

const plainWork = (work: Work): Work => ({
  ...work,
  note: (note) => work.note(plainNote(note)),
  finish: (change) => work.finish(plainChange(change)),
  fail: (backoff, cause, also) => work.fail(backoff, plainText(cause), also && plainEffects(also)),
  cancel: (cause) => work.cancel(plainTextOr(cause)),
});

function plainNote(note: WorkNote): WorkNote {
  switch (note.kind) {
    case 'recoveryAccepted':
      return { ...note, operationRef: plainText(note.operationRef) };
    case 'controllerResetAsked':
    case 'controllerResetRefused':
      return { ...note, controller: plainText(note.controller) };
    case 'recoveryAsked':
      return { ...note, bootId: plainTextOr(note.bootId) };
    case 'agentStartAttempt':
      return note.hostKey === undefined ? note : { ...note, hostKey: plainText(note.hostKey) };
    default:
      return note;
  }
}

const plainEffects = ({ quarantine, ...rest }: FailureEffects): FailureEffects => ({
  ...rest,
  ...(quarantine && { quarantine: { ...quarantine, reason: plainText(quarantine.reason) } }),
});

/** Warnings are kept as one text, so all of them together are capped. */
const plainChange = (change: FinishChange): FinishChange =>
  change.kind === 'agentStarted'
    ? {
        ...change,
        bootId: plainTextOr(change.bootId),
        hostKey: plainTextOr(change.hostKey),
        warnings: change.warnings.length === 0 ? [] : [plainText(change.warnings.join('; '))],
      }
    : change;

const plainIntents = (intents: IntentBook): IntentBook => ({
  ...intents,
  progress: (witness, { lastError, ...change }) =>
    intents.progress(witness, {
      ...change,
      ...(lastError === undefined ? {} : { lastError: plainText(lastError) }),
    }),
  adopt: (witness, provided) => intents.adopt(witness, { ...provided, ...plainTold(provided) }),
  end: (witness, how) => intents.end(witness, { ...how, cause: plainText(how.cause) }),
});

const plainTold = (told: Pick<ProvidedPatch, Clearable>): Pick<ProvidedPatch, Clearable> =>
  Object.fromEntries(
    CLEARABLE.flatMap((field) => {
      const text = told[field];
      return text === undefined ? [] : [[field, plainTextOr(text)]];
    }),
  );
