import type { z } from 'zod';
import type { Call } from '../../driver-kit/call.ts';
import { nullIfGone } from '../../driver-kit/errors.ts';
import { readPages, type Page, type Walked } from '../../driver-kit/pages.ts';
import {
  isAboutPage,
  pageOf,
  deployConfig,
  documentOf,
  documentOfId,
  isId,
  nothing,
  operatingSystem,
  project,
  server,
  sshKey,
  userData,
  type ListPage,
  type DeployConfig,
  type Server,
  type SshKey,
  type UserData,
} from './api.ts';
import type { ApiRequest } from '../../driver-kit/terms.ts';
import type { RecordText } from './records.ts';
import { sameName, type LatitudeConfig } from './settings.ts';

/** A list of the API. */
export interface Listed<T> {
  /** Route name for metrics. */
  readonly endpoint: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly schema: z.ZodType<T>;
}

/** Reads lists; remembers the page size that the API accepts. */
export function createLists(pageSize: number) {
  let size = pageSize;

  async function fetch<T>(call: Call, list: Listed<T>, number: number): Promise<ListPage<T>> {
    const { path, schema } = list;
    const paging = { 'page[size]': String(size), 'page[number]': String(number) };
    const query = { ...list.query, ...paging, 'stats[total]': 'count' };
    return call.send({ method: 'GET', path, query, schema: pageOf(schema), bulk: true });
  }

  /**
   * A short page need not be the last: the API may have an undocumented limit. So the read
   * continues until it has the total, or a page is empty.
   */
  function walks<T extends { readonly id: string }>(
    call: Call,
    list: Listed<T>,
  ): Promise<Walked<T>> {
    let seen = 0;
    const fetchPage = async (number: number): Promise<Page<T>> => {
      if (number === 1) seen = 0;
      const { items, unread, total } = await fetch(call, list, number);
      const count = items.length + unread.length;
      seen += count;
      const isLast = count === 0 || (total !== null && seen >= total);
      return { items, unread, total, number, isLast };
    };
    return readPages(call, { endpoint: list.endpoint, fetchPage });
  }

  return {
    /** Reads a list, and proves it complete. @throws {ProviderError} a page failed. */
    async read<T extends { readonly id: string }>(call: Call, list: Listed<T>): Promise<Walked<T>> {
      for (;;) {
        try {
          return await walks(call, list);
        } catch (error) {
          if (!isAboutPage(error) || size <= 1) throw error;
          size = Math.ceil(size / 2);
        }
      }
    },
  };
}

/** Awaited just before each request that changes something; if it throws, the operation ends. */
export type BeforeSending = (() => Promise<void>) | undefined;

/** A requested machine. */
export interface ServerOrder {
  readonly hostname: string;
  readonly plan: string;
  readonly site: string;
  readonly operatingSystem: string;
  readonly sshKeyId: string;
  readonly userDataId: string;
}
/** A requested reinstallation; absent system: the same as before. */
export type ReinstallOrder = Pick<ServerOrder, 'hostname' | 'sshKeyId' | 'userDataId'> & {
  readonly operatingSystem?: string | undefined;
};

export type Action = 'power_on' | 'power_off' | 'reboot';

const REASON = 'given back by Shepherd';

/** Routes of the API, one function each. */
export function createRoutes(config: LatitudeConfig) {
  const { project: projectId, raid, billing } = config;
  const lists = createLists(config.pageSize);
  const ofProject = { 'filter[project]': projectId };

  /** @throws {ProviderError} `invalid`: the id is malformed; nothing is sent. */
  function at(call: Call, collection: string, id: string, rest = ''): string {
    if (isId(id)) return `/${collection}/${id}${rest}`;
    throw call.error('invalid', 'the id is not one of this API');
  }
  const get = <T>(call: Call, path: string, schema: z.ZodType<T>): Promise<T> =>
    call.send({ method: 'GET', path, schema });
  /** A change whose reply matters only by its status. */
  const change = (
    call: Call,
    request: Pick<ApiRequest<void>, 'method' | 'path' | 'query' | 'body' | 'beforeAttempt'>,
  ): Promise<void> => call.send({ ...request, schema: nothing, ignoresReply: true });
  const listOf =
    <T extends { readonly id: string }>(
      endpoint: string,
      path: string,
      schema: z.ZodType<T>,
      query: Readonly<Record<string, string>> = {},
    ) =>
    (call: Call): Promise<Walked<T>> =>
      lists.read(call, { endpoint, path, query, schema });

  const installOf = (order: ReinstallOrder) => ({
    hostname: order.hostname,
    ssh_keys: [order.sshKeyId],
    user_data: order.userDataId,
    ...(order.operatingSystem !== undefined && { operating_system: order.operatingSystem }),
    ...(raid !== undefined && { raid }),
  });

  return {
    listServers: listOf('ListServers', '/servers', server, ofProject),
    /** The filter's meaning is undocumented, so the result is filtered again. */
    async findServers(call: Call, hostname: string): Promise<readonly Server[]> {
      const query = { ...ofProject, 'filter[hostname]': hostname };
      const { items, complete } = await listOf('FindServers', '/servers', server, query)(call);
      const named = items.filter((found) => sameName(found.hostname, hostname));
      if (complete || named.length > 0) return named;
      throw call.error('transient', `the listing may lack a server ${hostname}`);
    },
    getServer: (call: Call, id: string): Promise<Server> =>
      get(call, at(call, 'servers', id), documentOfId(server, id)),
    /** Returns which record the server was installed with. */
    getDeployConfig: (call: Call, id: string): Promise<DeployConfig> =>
      get(call, at(call, 'servers', id, '/deploy_config'), documentOf(deployConfig)),
    postServer(call: Call, order: ServerOrder, beforeAttempt: BeforeSending): Promise<Server> {
      const { plan, site } = order;
      const body = bodyOf('servers', {
        ...{ project: projectId, plan, site, billing, ...installOf(order) },
      });
      const schema = documentOf(server).refine(isAsOrdered(order), {
        path: ['data', 'attributes'],
      });
      return call.send({ method: 'POST', path: '/servers', body, schema, beforeAttempt });
    },
    deleteServer: (call: Call, id: string, beforeAttempt: BeforeSending): Promise<void> => {
      const query = { reason: REASON };
      return change(call, {
        method: 'DELETE',
        path: at(call, 'servers', id),
        query,
        beforeAttempt,
      });
    },
    scheduleDeletion: (call: Call, id: string, beforeAttempt: BeforeSending): Promise<void> => {
      const path = at(call, 'servers', id, '/schedule_deletion');
      return change(call, { method: 'POST', path, beforeAttempt });
    },
    postAction(
      call: Call,
      id: string,
      action: Action,
      beforeAttempt: BeforeSending,
    ): Promise<void> {
      const path = at(call, 'servers', id, '/actions');
      const body = bodyOf('actions', { action });
      return change(call, { method: 'POST', path, body, beforeAttempt });
    },
    postReinstall(
      call: Call,
      id: string,
      order: ReinstallOrder,
      beforeAttempt: BeforeSending,
    ): Promise<void> {
      const path = at(call, 'servers', id, '/reinstall');
      const body = bodyOf('reinstalls', installOf(order));
      return change(call, { method: 'POST', path, body, beforeAttempt });
    },

    listUserData: listOf('ListUserData', '/user_data', userData, ofProject),
    getUserData: (call: Call, id: string): Promise<UserData> =>
      get(call, at(call, 'user_data', id), documentOfId(userData, id)),
    postUserData(call: Call, written: RecordText): Promise<UserData> {
      const body = bodyOf('user_data', { ...written, project: projectId });
      const schema = documentOf(userData);
      return call.send({ method: 'POST', path: '/user_data', body, schema });
    },
    patchUserData(
      call: Call,
      id: string,
      written: RecordText,
      beforeAttempt?: BeforeSending,
    ): Promise<UserData> {
      const body = { data: { id, type: 'user_data', attributes: written } };
      const request = { path: at(call, 'user_data', id), body, beforeAttempt };
      return call.send({ method: 'PATCH', ...request, schema: documentOfId(userData, id) });
    },
    /** A record that does not exist counts as deleted. */
    async deleteUserData(call: Call, id: string, beforeAttempt?: BeforeSending): Promise<void> {
      const path = at(call, 'user_data', id);
      await change(call, { method: 'DELETE', path, beforeAttempt }).catch(nullIfGone);
    },

    listSshKeys: listOf('ListSshKeys', '/ssh_keys', sshKey, ofProject),
    postSshKey(call: Call, name: string, publicKey: string): Promise<SshKey> {
      const body = bodyOf('ssh_keys', { name, public_key: publicKey, project: projectId });
      const schema = documentOf(sshKey);
      return call.send({ method: 'POST', path: '/ssh_keys', body, schema });
    },
    listProjects: listOf('ListProjects', '/projects', project),
    listOperatingSystems: listOf(
      'ListOperatingSystems',
      '/plans/operating_systems',
      operatingSystem,
    ),
  };
}
export type Routes = ReturnType<typeof createRoutes>;

const bodyOf = (type: string, attributes: object) => ({ data: { type, attributes } });

/** Whether the created server is the requested one; missing fields are not compared. */
const isAsOrdered =
  ({ hostname, plan }: ServerOrder) =>
  (made: Server): boolean =>
    sameName(made.hostname, hostname) && (made.plan?.slug ?? plan) === plan;
