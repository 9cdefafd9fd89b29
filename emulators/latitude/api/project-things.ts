import { sshKeyProblem } from '../../equinix/state/ssh-key-text.ts';
import type { Answer, Call, Core, Route } from '../core.ts';
import { newId } from '../state/ids.ts';
import { isThere, type Listed, type SshKey, type UserData } from '../state/world.ts';
import { invalid, notFound, type Problem, refusalBy } from './api-error.ts';
import { attributesOf, refuseFor, type Rule, textIn } from './input.ts';
import { filtersOf, pageOf } from './lists.ts';
import { projectOf } from './server-create.ts';
import { document, sshKeyView, userDataView } from './views.ts';

/** User data and SSH keys: what projects keep for installations. */
export function projectThingRoutes(core: Core): readonly Route[] {
  const { world } = core;
  const shown = (status: number, data: object): Answer => ({ status, body: document(data) });
  return [
    {
      method: 'GET',
      path: '/user_data',
      handle: (call) => listThings(core, call, world.userData, userDataView),
    },
    {
      method: 'POST',
      path: '/user_data',
      handle: (call) => shown(201, userDataView(createUserData(core, call))),
    },
    {
      method: 'GET',
      path: '/user_data/{id}',
      handle: (call) => shown(200, userDataView(userDataOf(core, call))),
    },
    {
      method: 'PATCH',
      path: '/user_data/{id}',
      handle: (call) => shown(200, userDataView(changeUserData(core, call))),
    },
    {
      method: 'DELETE',
      path: '/user_data/{id}',
      handle(call) {
        const found = userDataOf(core, call);
        if (core.knobs.deleteInUse === 'refused' && isInUse(core, found)) {
          throw refusalBy(core.knobs.stateText);
        }
        found.goneAtMs = core.clock.now();
        return { status: 204 };
      },
    },
    {
      method: 'GET',
      path: '/ssh_keys',
      handle: (call) => listThings(core, call, world.sshKeys, sshKeyView),
    },
    {
      method: 'POST',
      path: '/ssh_keys',
      handle: (call) => shown(201, sshKeyView(createSshKey(core, call))),
    },
  ];
}

type Thing = Listed & { readonly projectId: string };

function listThings<T extends Thing>(
  core: Core,
  call: Call,
  things: ReadonlyMap<string, T>,
  view: (thing: T) => object,
): Answer {
  const wanted = filtersOf(call, ['project']).get('project');
  const projects = core.world.projects
    .filter(({ teamId }) => teamId === call.team.id)
    .filter(({ id, name }) => wanted === undefined || id === wanted || name === wanted)
    .map(({ id }) => id);
  const items = [...things.values()].filter(
    (one) => projects.includes(one.projectId) && isThere(one, call.listsAtMs),
  );
  return pageOf(core, call, items, view);
}

function userDataOf({ world, clock }: Core, { params, team }: Call): UserData {
  const found = world.userData.get(params['id'] ?? '');
  const owner = world.projects.find(({ id }) => id === found?.projectId);
  if (!found || owner?.teamId !== team.id || !isThere(found, clock.now())) throw notFound();
  return found;
}

const isInUse = ({ world, clock }: Core, { id }: UserData): boolean =>
  [...world.servers.values()].some(
    (server) => server.deploy.userData === id && isThere(server, clock.now()),
  );

const USER_DATA: Readonly<Record<string, Rule>> = {
  description: { type: 'text', required: true },
  content: { type: 'text', required: true },
  project: { type: 'text', required: true },
};
const USER_DATA_CHANGES: Readonly<Record<string, Rule>> = {
  description: { type: 'text' },
  content: { type: 'text' },
};

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** What is wrong with a text, or what is left of it. */
function fitted(core: Core, call: Call, field: 'description' | 'content', text: string) {
  const { knobs } = core;
  const max = field === 'content' ? knobs.contentMax : knobs.descriptionMax;
  const problems: Problem[] = [];
  if (field === 'content' && !BASE64.test(text)) problems.push(invalid(field, 'is not base64'));
  const isLong = max > 0 && text.length > max;
  if (isLong && knobs.tooLong === 'refused') {
    problems.push(invalid(field, `is too long (maximum is ${max} characters)`));
  }
  const left = call.strike('cut', (cut) => cut.field === field)?.length ?? Infinity;
  return { problems, text: text.slice(0, Math.min(left, isLong ? max : Infinity)) };
}

function createUserData(core: Core, call: Call): UserData {
  const { world, clock, knobs } = core;
  const { attributes, problems } = attributesOf(call, 'user_data', USER_DATA);
  const description = fitted(core, call, 'description', textIn(attributes, 'description') ?? '');
  const content = fitted(core, call, 'content', textIn(attributes, 'content') ?? '');
  const wanted = textIn(attributes, 'project');
  const project = projectOf(world, call, wanted);
  const missing =
    wanted !== undefined && !project ? [invalid('project', 'could not be found')] : [];
  refuseFor(
    [...problems, ...description.problems, ...content.problems],
    missing,
    knobs.unknownReference,
  );
  const made: UserData = {
    id: newId('ud', world.ids),
    ...{ description: description.text, content: content.text, projectId: project!.id },
    ...{ createdAtMs: clock.now(), updatedAtMs: clock.now(), goneAtMs: Infinity },
  };
  world.userData.set(made.id, made);
  return made;
}

function changeUserData(core: Core, call: Call): UserData {
  const found = userDataOf(core, call);
  const { attributes, problems } = attributesOf(call, 'user_data', USER_DATA_CHANGES, found.id);
  const changes = (['description', 'content'] as const).flatMap((field) => {
    const text = textIn(attributes, field);
    return text === undefined ? [] : [{ field, ...fitted(core, call, field, text) }];
  });
  refuseFor([...problems, ...changes.flatMap((one) => one.problems)], [], 422);
  if (core.knobs.patchInUse === 'refused' && isInUse(core, found)) {
    throw refusalBy(core.knobs.stateText);
  }
  for (const { field, text } of changes) found[field] = text;
  found.updatedAtMs = core.clock.now();
  return found;
}

const SSH_KEY: Readonly<Record<string, Rule>> = {
  name: { type: 'text', required: true },
  public_key: { type: 'text', required: true },
  project: { type: 'text', required: true },
};

function createSshKey(core: Core, call: Call): SshKey {
  const { world, clock, knobs } = core;
  const { attributes, problems } = attributesOf(call, 'ssh_keys', SSH_KEY);
  const publicKey = textIn(attributes, 'public_key');
  const wanted = textIn(attributes, 'project');
  const project = projectOf(world, call, wanted);
  const complaint = publicKey === undefined ? undefined : sshKeyProblem(publicKey);
  const isTaken = [...world.sshKeys.values()].some(
    (one) => one.projectId === project?.id && blobOf(one.publicKey) === blobOf(publicKey ?? ''),
  );
  refuseFor(
    [
      ...problems,
      ...(complaint === undefined ? [] : [invalid('public_key', complaint)]),
      ...(isTaken && knobs.duplicateKeys === 'refused'
        ? [invalid('public_key', 'has already been taken')]
        : []),
    ],
    wanted !== undefined && !project ? [invalid('project', 'could not be found')] : [],
    knobs.unknownReference,
  );
  const made: SshKey = {
    id: newId('ssh', world.ids),
    ...{ name: textIn(attributes, 'name')!, publicKey: publicKey!, projectId: project!.id },
    ...{ createdAtMs: clock.now(), goneAtMs: Infinity },
  };
  world.sshKeys.set(made.id, made);
  return made;
}

const blobOf = (publicKey: string): string => publicKey.trim().split(/[ \t]+/)[1] ?? '';
