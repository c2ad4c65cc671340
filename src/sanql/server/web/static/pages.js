// What pages do besides: the price while a question is typed, progress, pictures as files.
// All of it works without: a form is sent, a page comes back.
"use strict";

// Put what the server says of a question, made and escaped there, in the place of what is shown.
const show = (place, text) => {
  const made = new DOMParser().parseFromString(text, "text/html").querySelector("section.price, section.problem");
  if (made) place.replaceChildren(made);
};

const livePrice = () => {
  const form = document.getElementById("ask");
  const place = document.getElementById("live");
  if (!form || !place) return;
  let timer = 0;
  let last = null;
  let asked = "";
  const ask = async () => {
    const fields = new URLSearchParams(new FormData(form));
    if (!fields.get("sql").trim() || fields.toString() === asked) return;
    asked = fields.toString();
    if (last) last.abort();
    last = new AbortController();
    try {
      const reply = await fetch("/ask/price", { method: "POST", body: fields, signal: last.signal });
      show(place, await reply.text());
      place.classList.remove("stale");
    } catch (fault) {
      if (fault.name !== "AbortError") place.classList.remove("stale");
    }
  };
  form.addEventListener("input", () => {
    place.classList.add("stale");
    clearTimeout(timer);
    timer = setTimeout(ask, 400);
  });
  form.addEventListener("submit", () => clearTimeout(timer));
};

const waitForAnswer = () => {
  const waiting = document.getElementById("waiting");
  if (!waiting) return;
  const look = async () => {
    try {
      const reply = await fetch(waiting.dataset.state);
      const state = reply.ok && !reply.redirected ? await reply.json() : { status: "unknown" };
      if (state.status !== "queued" && state.status !== "running") return location.reload();
      document.getElementById("progress").textContent = state.progress;
    } catch { /* the server will be there again */ }
    return setTimeout(look, 800);
  };
  setTimeout(look, 800);
};

const savePictures = () => {
  for (const button of document.querySelectorAll("button.png")) {
    button.hidden = false;
    button.addEventListener("click", () => savePicture(button.closest("figure").querySelector("svg")));
  }
};

const savePicture = (drawn) => {
  const copy = drawn.cloneNode(true);
  copy.setAttribute("color", "#1b1d21");
  const text = new XMLSerializer().serializeToString(copy);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * drawn.viewBox.baseVal.width;
    canvas.height = 2 * drawn.viewBox.baseVal.height;
    const context = canvas.getContext("2d");
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    canvas.toBlob((made) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(made);
      link.download = "answer.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  };
  image.src = address;
};

const liveMeaning = () => {
  const form = document.getElementById("meaning");
  if (!form) return;
  const shown = document.getElementById("epsilon-shown");
  let timer = 0;
  const look = async () => {
    const address = `/meaning?${new URLSearchParams(new FormData(form))}`;
    const reply = await fetch(address);
    const made = new DOMParser().parseFromString(await reply.text(), "text/html");
    const found = made.getElementById("meaning-shown") || made.querySelector(".problem");
    if (found) document.getElementById("meaning-shown").replaceChildren(...found.childNodes);
  };
  form.addEventListener("input", () => {
    shown.textContent = form.elements.epsilon.value;
    clearTimeout(timer);
    timer = setTimeout(look, 150);
  });
};

livePrice();
waitForAnswer();
savePictures();
liveMeaning();
