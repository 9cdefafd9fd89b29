import type { Core } from '../core.ts';
import { timeText } from '../core.ts';
import { stableId } from '../state/catalogue.ts';
import type { Organization, Project, SshKey } from '../state/state.ts';
import { linkTo, type Node, type Ref } from './expansion.ts';

/** Who it all belongs to. */
export interface AccountViews {
  /** With what is in it. */
  project(project: Project): Node;
  organization(id: string): Node;
  /** The one user that an organisation has. */
  user(organizationId: string): Node;
  /** What others see of that user. */
  userLite(organizationId: string): Node;
}

/** The account is older than any clock of a test. */
const SINCE = '2019-03-01T09:00:00Z';

export function createAccountViews(core: Core, sshKey: (key: SshKey) => Node) {
  const { state, knobs } = core;
  const href = (path: string) => `${knobs.hrefPrefix}${path}`;
  const time = (atMs: number) => timeText(core, atMs);
  const link = (path: string) => ({ href: href(path) });
  const organizationOf = (id: string) => state.organizations.find((one) => one.id === id)!;
  const projectsOf = (organizationId: string) =>
    [...state.projects.values()].filter(
      (one) => one.organizationId === organizationId && !one.deleted,
    );
  const ofProject = <T extends { readonly projectId: string | null }>(
    list: ReadonlyMap<string, T>,
    { id }: Project,
  ) => [...list.values()].filter((one) => one.projectId === id);

  const userRef = ({ id, userId }: Organization): Ref =>
    linkTo(href(`/users/${userId}`), () => views.user(id));
  const membership = ({ userId }: Organization, of: string) =>
    link(`/memberships/${stableId(`membership of ${userId} in ${of}`)}`);
  /** What a project is told by wherever it is included: not all that is in it. */
  const summary = (project: Project): Node => {
    const organization = organizationOf(project.organizationId);
    return {
      id: project.id,
      name: project.name,
      type: project.type ?? 'default',
      tags: project.tags ?? [],
      customdata: project.customdata ?? {},
      created_at: time(project.createdAtMs),
      updated_at: time(project.updatedAtMs),
      backend_transfer_enabled: project.backendTransferEnabled ?? false,
      max_devices: {},
      network_status: {},
      organization: linkTo(href(`/organizations/${organization.id}`), () =>
        views.organization(organization.id),
      ),
      payment_method: link(
        `/payment-methods/${project.paymentMethodId ?? stableId(`payment ${organization.id}`)}`,
      ),
      members: [userRef(organization)],
      memberships: [membership(organization, project.id)],
      invitations: [],
      bgp_config: link(`/projects/${project.id}/bgp-config`),
      href: href(`/projects/${project.id}`),
    };
  };
  const userLite = ({ id, userId, name }: Organization) => ({
    id: userId,
    short_id: userId.slice(0, 8),
    first_name: 'Fleet',
    last_name: 'Operator',
    full_name: 'Fleet Operator',
    email: `operator@${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.example`,
    avatar_thumb_url: `https://avatars.example/${id}/thumb.png`,
    created_at: SINCE,
    updated_at: SINCE,
    href: href(`/users/${userId}`),
  });

  const views: AccountViews = {
    project: (project) => ({
      ...summary(project),
      devices: ofProject(state.devices, project).map(({ id }) => link(`/devices/${id}`)),
      ssh_keys: ofProject(state.sshKeys, project).map((key) =>
        linkTo(href(`/ssh-keys/${key.id}`), () => sshKey(key)),
      ),
      volumes: [],
    }),
    organization: (id) => {
      const organization = organizationOf(id);
      const address = {
        address: `${organization.name} house`,
        city: 'Frankfurt',
        country: 'DE',
        zip_code: '00000',
      };
      return {
        id,
        name: organization.name,
        description: '',
        website: '',
        twitter: '',
        address,
        billing_address: address,
        customdata: {},
        credit_amount: 0,
        terms: 1,
        created_at: SINCE,
        updated_at: SINCE,
        members: [userRef(organization)],
        memberships: [membership(organization, id)],
        projects: projectsOf(id).map((one) =>
          linkTo(href(`/projects/${one.id}`), () => summary(one)),
        ),
        href: href(`/organizations/${id}`),
      };
    },
    user: (organizationId) => {
      const organization = organizationOf(organizationId);
      return {
        ...userLite(organization),
        avatar_url: `https://avatars.example/${organizationId}.png`,
        customdata: {},
        default_organization_id: organizationId,
        default_project_id: projectsOf(organizationId)[0]?.id,
        emails: [link(`/emails/${stableId(`email of ${organization.userId}`)}`)],
        fraud_score: '0',
        last_login_at: SINCE,
        max_organizations: 1,
        max_projects: 1_000,
        phone_number: '',
        timezone: 'UTC',
        two_factor_auth: '',
      };
    },
    userLite: (organizationId) => userLite(organizationOf(organizationId)),
  };
  return { ...views, summary, userRef: (id: string) => userRef(organizationOf(id)) };
}
