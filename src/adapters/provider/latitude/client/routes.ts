import type { z } from 'zod';
import type { Call } from '../../../http/call.ts';
import { isNotFound } from '../../../http/errors.ts';
import type { Walked } from '../../../http/pages.ts';
import { sameName } from '../names.ts';
import type { RecordText } from '../record.ts';
import type { LatitudeConfig } from '../project-config.ts';
import { createLists } from './lists.ts';
import {
  type DeployConfig,
  deployConfig,
  documentOf,
  documentOfId,
  isId,
  nothing,
  type OperatingSystem,
  operatingSystem,
  type Project,
  project,
  type Server,
  server,
  type SshKey,
  sshKey,
  type UserData,
  userData,
} from './schema.ts';

/** Awaited just before each request that changes something; what it throws ends the operation. */
export type BeforeSending = (() => Promise<void>) | undefined;

/** A machine that is asked for. */
export interface ServerOrder {
  readonly hostname: string;
  readonly plan: string;
  readonly site: string;
  readonly operatingSystem: string;
  readonly sshKeyId: string;
  readonly userDataId: string;
}
/** What a server is installed with anew; the system is as before if it is absent. */
export type ReinstallOrder = Pick<ServerOrder, 'hostname' | 'sshKeyId' | 'userDataId'> & {
  readonly operatingSystem?: string | undefined;
};

export type Action = 'power_on' | 'power_off' | 'reboot';

const REASON = 'given back by Shepherd';

/** The routes of the API, one function each: what is sent and what comes back, and nothing else. */
export function createRoutes(config: LatitudeConfig) {
  const { projectId, raid, billing } = config;
  const lists = createLists(config.pageSize);
  const ofProject = { 'filter[project]': projectId };

  /** @throws {ApiError} InvalidArgument: nothing is sent. */
  function pathOf(call: Call, collection: string, id: string): string {
    if (isId(id)) return `/${collection}/${id}`;
    throw call.error('InvalidArgument', 'the id is none of the API');
  }
  const get = <T>(call: Call, path: string, schema: z.ZodType<T>): Promise<T> =>
    call.send({ method: 'GET', path, schema });

  const installOf = (order: ReinstallOrder) => ({
    hostname: order.hostname,
    ssh_keys: [order.sshKeyId],
    user_data: order.userDataId,
    ...(order.operatingSystem !== undefined && { operating_system: order.operatingSystem }),
    ...(raid !== undefined && { raid }),
  });

  return {
    listServers: (call: Call): Promise<Walked<Server>> =>
      lists.read(call, {
        endpoint: 'ListServers',
        path: '/servers',
        query: ofProject,
        schema: server,
      }),
    /** What the filter means is nowhere said, so what it answers is looked through again. */
    async findServers(call: Call, hostname: string): Promise<readonly Server[]> {
      const query = { ...ofProject, 'filter[hostname]': hostname };
      const listed = { endpoint: 'FindServers', path: '/servers', query, schema: server };
      const { items, complete } = await lists.read(call, listed);
      const named = items.filter((found) => sameName(found.hostname, hostname));
      if (complete || named.length > 0) return named;
      throw call.error('PartialListing', `a server ${hostname} may have been left out`);
    },
    getServer: (call: Call, id: string): Promise<Server> =>
      get(call, pathOf(call, 'servers', id), documentOfId(server, id)),
    /** Which record the server was installed with. */
    getDeployConfig: (call: Call, id: string): Promise<DeployConfig> =>
      get(call, `${pathOf(call, 'servers', id)}/deploy_config`, documentOf(deployConfig)),
    postServer: (call: Call, order: ServerOrder, beforeAttempt: BeforeSending): Promise<Server> =>
      call.send({
        method: 'POST',
        path: '/servers',
        body: bodyOf('servers', {
          project: projectId,
          plan: order.plan,
          site: order.site,
          billing,
          ...installOf(order),
        }),
        schema: documentOf(server).refine(isAsOrdered(order), { path: ['data', 'attributes'] }),
        beforeAttempt,
      }),
    deleteServer: (call: Call, id: string, beforeAttempt: BeforeSending): Promise<void> =>
      call.send({
        method: 'DELETE',
        path: pathOf(call, 'servers', id),
        query: { reason: REASON },
        schema: nothing,
        ignoresReply: true,
        beforeAttempt,
      }),
    scheduleDeletion: (call: Call, id: string, beforeAttempt: BeforeSending): Promise<void> =>
      call.send({
        method: 'POST',
        path: `${pathOf(call, 'servers', id)}/schedule_deletion`,
        schema: nothing,
        ignoresReply: true,
        beforeAttempt,
      }),
    postAction: (call: Call, id: string, action: Action, beforeAttempt: BeforeSending) =>
      call.send({
        method: 'POST',
        path: `${pathOf(call, 'servers', id)}/actions`,
        body: bodyOf('actions', { action }),
        schema: nothing,
        ignoresReply: true,
        beforeAttempt,
      }),
    postReinstall: (
      call: Call,
      id: string,
      order: ReinstallOrder,
      beforeAttempt: BeforeSending,
    ): Promise<void> =>
      call.send({
        method: 'POST',
        path: `${pathOf(call, 'servers', id)}/reinstall`,
        body: bodyOf('reinstalls', installOf(order)),
        schema: nothing,
        ignoresReply: true,
        beforeAttempt,
      }),

    listUserData: (call: Call): Promise<Walked<UserData>> =>
      lists.read(call, {
        endpoint: 'ListUserData',
        path: '/user_data',
        query: ofProject,
        schema: userData,
      }),
    getUserData: (call: Call, id: string): Promise<UserData> =>
      get(call, pathOf(call, 'user_data', id), documentOfId(userData, id)),
    postUserData: (call: Call, written: RecordText): Promise<UserData> =>
      call.send({
        method: 'POST',
        path: '/user_data',
        body: bodyOf('user_data', { ...written, project: projectId }),
        schema: documentOf(userData),
      }),
    patchUserData: (
      call: Call,
      id: string,
      written: RecordText,
      beforeAttempt?: BeforeSending,
    ): Promise<UserData> =>
      call.send({
        method: 'PATCH',
        path: pathOf(call, 'user_data', id),
        body: { data: { id, type: 'user_data', attributes: written } },
        schema: documentOfId(userData, id),
        beforeAttempt,
      }),
    /** One that is not there has been deleted. */
    deleteUserData: (call: Call, id: string, beforeAttempt?: BeforeSending): Promise<void> =>
      call
        .send({
          method: 'DELETE',
          path: pathOf(call, 'user_data', id),
          schema: nothing,
          ignoresReply: true,
          beforeAttempt,
        })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        }),

    listSshKeys: (call: Call): Promise<Walked<SshKey>> =>
      lists.read(call, {
        endpoint: 'ListSshKeys',
        path: '/ssh_keys',
        query: ofProject,
        schema: sshKey,
      }),
    postSshKey: (call: Call, name: string, publicKey: string): Promise<SshKey> =>
      call.send({
        method: 'POST',
        path: '/ssh_keys',
        body: bodyOf('ssh_keys', { name, public_key: publicKey, project: projectId }),
        schema: documentOf(sshKey),
      }),
    listProjects: (call: Call): Promise<Walked<Project>> =>
      lists.read(call, { endpoint: 'ListProjects', path: '/projects', query: {}, schema: project }),
    listOperatingSystems: (call: Call): Promise<Walked<OperatingSystem>> =>
      lists.read(call, {
        endpoint: 'ListOperatingSystems',
        path: '/plans/operating_systems',
        query: {},
        schema: operatingSystem,
      }),
  };
}
export type Routes = ReturnType<typeof createRoutes>;

const bodyOf = (type: string, attributes: object) => ({ data: { type, attributes } });

/** The server that was made is the one that was asked for; what the short answer leaves out may be missing. */
const isAsOrdered =
  ({ hostname, plan }: ServerOrder) =>
  (made: Server): boolean =>
    sameName(made.hostname, hostname) && (made.plan?.slug ?? plan) === plan;
