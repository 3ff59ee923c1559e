// What the page asks the server that it came from.

/** A refusal: its parts are those of the server's error. */
export class Refused extends Error {
  constructor(status, { id = "", where = "", what = "the server did not answer", hint = "" } = {}) {
    super([where && `${where}: `, what].filter(Boolean).join(""));
    Object.assign(this, { status, id, where, what, hint });
  }
}

async function answer(path, request) {
  let response;
  try { response = await fetch(path, request); } catch { throw new Refused(0, { what: "the server is not there any more", hint: "start 'kernbench web' again" }); }
  const json = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, json.error);
  return json;
}

export const ask = (path) => answer(path, {});
export const tell = (path, body) => answer(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
