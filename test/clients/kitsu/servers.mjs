// A program that knows JSON:API only by its library: lists, creates, changes and deletes.
import Kitsu from 'kitsu';

const [, , baseURL, project] = process.argv;
const api = new Kitsu({
  baseURL,
  headers: { Authorization: `Bearer ${process.env.LATITUDE_TOKEN}` },
  camelCaseTypes: false,
  resourceCase: 'none',
  pluralize: false,
});
const refusalOf = (asked) =>
  asked.then(
    () => [],
    ({ errors }) => errors.map(({ status, source }) => [status, source?.pointer]),
  );

const place = { project, plan: 'c3-small-x86', site: 'ASH', operating_system: 'debian_12_x64' };
const record = await api.create('user_data', {
  project,
  description: 'made by kitsu',
  content: Buffer.from('#cloud-config\n{}\n').toString('base64'),
});
const renamed = await api.update('user_data', { id: record.data.id, description: 'renamed' });
const made = [];
for (const hostname of ['kitsu-1', 'kitsu-2', 'kitsu-3']) {
  made.push(await api.create('servers', { ...place, hostname, user_data: record.data.id }));
}
const params = { filter: { project }, page: { size: 2, number: 2 }, stats: { total: 'count' } };
const page = await api.get('servers', { params });
const [first] = made;
const one = await api.get(`servers/${first.data.id}`);
const config = await api.get(`servers/${first.data.id}/deploy_config`);
const refused = await refusalOf(api.create('servers', { project, hostname: 'a_b' }));
const missing = await refusalOf(api.get('servers/sv_none'));
const removed = [];
for (const { data } of made) removed.push((await api.remove('servers', data.id)).status);
const left = await api.get('servers', { params });

const report = {
  media: one.headers['content-type'],
  description: renamed.data.description,
  statuses: made.map(({ status }) => status),
  page: page.data.map(({ hostname }) => hostname),
  total: page.meta.stats.total.count,
  one: [one.data.type, one.data.hostname, one.data.plan.slug],
  config: config.data.user_data === record.data.id,
  refused,
  missing,
  removed,
  left: left.meta.stats.total.count,
};
process.stdout.write(JSON.stringify(report));
